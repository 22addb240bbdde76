"""Small helpers that do not depend on models: files, numbers as text, progress, undoing, memory, the exit test."""
