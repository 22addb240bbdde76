"""Small helpers that know nothing of models: files, numbers in words, progress, undoing."""
