#!/bin/sh
# Take from an environment what no process of ours opens: headers, test suites and test programs of packages, Arrow's
# Flight. `sh trim.sh /opt/venv`. numpy keeps its tests: numpy.testing imports from them.
set -eu
cd "$1"/lib/python3*/site-packages
rm -rf pyarrow/include pyarrow/tests pyarrow/_flight.* pyarrow/libarrow_flight.* pyarrow/libarrow_python_flight.*
rm -rf torch/include torch/test
if [ -d torch/bin ]; then find torch/bin -type f ! -name torch_shm_manager -delete; fi
for package in numba llvmlite sympy networkx scipy matplotlib ibis; do
    if [ -d "$package" ]; then find "$package" -type d -name tests -prune -exec rm -rf {} +; fi
done
