#!/bin/sh
# The linker keeps one copy of a function that several files define. If this copy comes from a file compiled for a newer
# processor, it runs on every machine. This script lists the functions that such files share with others, and fails.
set -eu

weak() { nm --defined-only "$@" | awk '$2 == "W" { print $3 }' | sort; }

for objects in build/cp*/CMakeFiles/_core.dir/cpp; do
  [ -e "$objects/isa/avx2.cpp.o" ] || continue
  shared=$({ weak $(find "$objects" -name "*.o") | uniq -d; weak "$objects"/isa/avx*.o | uniq; } | sort | uniq -d | c++filt)
  [ -z "$shared" ] && continue
  echo "Compiled for AVX and shared with other files; make these local to their file, or inline:"
  echo "$shared"
  exit 1
done
