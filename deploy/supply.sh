#!/usr/bin/env bash
# Supply chain of the images, from their locks: known vulnerabilities, a bill of materials, licences.
#
#   deploy/supply.sh audit              pip-audit over every lock; fails on a known vulnerability, and where the
#                                       service knows nothing of a package (an index without vulnerability data)
#   deploy/supply.sh sbom [DIR]         a CycloneDX document for each image's locks, in DIR or ./sbom
#   deploy/supply.sh licences PYTHON    licences of what that environment holds, as Markdown; fails on a GPL
#
# Needs pip-audit, cyclonedx-bom and pip-licenses. `audit` asks a vulnerability service over the network.
set -euo pipefail
from=$PWD
cd "$(dirname "$0")/locks"

absolute() {
    case $1 in /*) echo "$1" ;; *) echo "$from/$1" ;; esac
}

locks_of() {
    case $1 in
        api) echo api s3 ;;
        worker) echo api s3 worker torch-cpu ;;
        worker-cuda) echo api s3 worker torch-cuda ;;
        jobs) echo api s3 jobs torch-cpu ;;
        jobs-cuda) echo api s3 jobs torch-cuda ;;
    esac
}

audit() {
    local failed=0
    for lock in *.txt; do
        echo "== $lock"
        pip-audit --strict --requirement "$lock" --require-hashes --disable-pip --progress-spinner off || failed=1
    done
    return $failed
}

sbom() {
    local target
    target=$(absolute "${1:-sbom}")
    mkdir -p "$target"
    for image in api worker worker-cuda jobs jobs-cuda; do
        merged=$(mktemp)
        for lock in $(locks_of "$image"); do cat "$lock.txt"; done >"$merged"
        cyclonedx-py requirements "$merged" --output-reproducible --output-format JSON --output-file "$target/$image.cdx.json"
        rm "$merged"
    done
}

licences() {
    pip-licenses --python "$(absolute "$1")" --format markdown --with-urls --order license \
        --partial-match --fail-on "GPL;General Public License;SSPL;Business Source"
}

"$@"
