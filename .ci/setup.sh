# Sourced by demo, test and run: a virtual environment with penstock and what a command needs.
#
#   penstock_setup GROUP...     returns once "$venv_python" can import penstock and the groups
#                               (dependency groups or extras of pyproject.toml).
#   penstock_setup_apart GROUP  the same for "$apart_python", in an environment of its own that has the
#                               (large) packages of a group and the penstock that the first one compiled.
#
# PYTHON           interpreter to start from, 3.11 or newer (python3)
# PENSTOCK_VENV    where the virtual environment lives (.venv in the checkout)
# PENSTOCK_JPEG    AUTO, ON or OFF: the native JPEG codec (AUTO)
# PENSTOCK_PNG     AUTO, ON or OFF: the native PNG codec (AUTO)
# PENSTOCK_ZLIB    AUTO, ON or OFF: reading and writing compressed files (AUTO)
# PENSTOCK_ZSTD    AUTO, ON or OFF: zstd in record files and saved datasets (AUTO)
# PENSTOCK_RE2     AUTO, ON or OFF: regular expressions in native functions (AUTO)
# PENSTOCK_APT     0: never install system packages (1)
#
# What is installed is remembered in "$state" by content, so a second call only compares. A stamp is
# removed before the work it stands for and written after it: an interrupted call is done again.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=${PENSTOCK_VENV:-$root/.venv}
[[ $venv == /* ]] || venv=$PWD/$venv
venv_python=$venv/bin/python
state=$venv/.penstock  # stamps, the CMake build folder, penstock's wheel, and wheels for the packaging test

# Nothing from the caller's environment may reach into the virtual environment.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'penstock: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Sets base_python, base_version, and whether it can make environments and compile extensions.
find_python() {
  local name=${PYTHON:-python3} answer
  answer=$("$name" -c '
import sys
print("%d.%d" % sys.version_info[:2])
if sys.version_info >= (3, 11):
    import importlib.util, os, sysconfig
    print(sys._base_executable)
    print(int(importlib.util.find_spec("ensurepip") is not None))
    print(int(os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))))
' </dev/null) || die "cannot run '$name'; set PYTHON to a Python 3.11 or newer"
  mapfile -t answer <<<"$answer"
  base_version=${answer[0]}
  [[ ${#answer[@]} -eq 4 ]] ||
    die "Python 3.11 or newer is needed, but '$name' is $base_version; set PYTHON to a newer one"
  base_python=${answer[1]} has_venv=${answer[2]} has_headers=${answer[3]}
}

has_header() { echo "$1" | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1; }

# Optional libraries: the name of their switch (PENSTOCK_JPEG=OFF leaves one out), their header, their
# Debian package, and what there is not without them.
codecs=(
  "JPEG jpeglib.h libjpeg62-turbo-dev no native JPEG codec"
  "PNG png.h libpng-dev no native PNG codec"
  "ZLIB zlib.h zlib1g-dev no compressed files"
  "ZSTD zstd.h libzstd-dev no zstd in record files and saved datasets"
  "RE2 re2/re2.h libre2-dev no regular expressions in native functions"
)

# Sets missing (without it nothing works), lacking (lines of codecs), and the Debian packages that
# bring them.
find_missing() {
  local codec name header package rest switch
  missing=() packages=() lacking=()
  if ! has_header '#include <atomic>'; then missing+=("a C++ compiler") packages+=(g++); fi
  ((has_venv)) || { missing+=("Python's venv module") packages+=("python$base_version-venv"); }
  ((has_headers)) || { missing+=("Python.h") packages+=("python$base_version-dev"); }
  for codec in "${codecs[@]}"; do
    read -r name header package rest <<<"$codec"
    switch=PENSTOCK_$name
    if [[ ${!switch:-AUTO} != OFF ]] && ! has_header $'#include <cstdio>\n#include <'"$header>"; then
      lacking+=("$codec") packages+=("$package")
    fi
  done
}

install_packages() {
  local sudo=()
  ((${#packages[@]})) && [[ ${PENSTOCK_APT:-1} != 0 ]] && command -v apt-get >/dev/null || return 0
  if ((EUID)); then
    sudo -n true 2>/dev/null || return 0
    sudo=(sudo -n)
  fi
  say "installing ${packages[*]}"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120)
  # One unreachable source fails the update, and may still leave what is needed.
  "${apt[@]}" update </dev/null >/dev/null || say "apt-get update failed; trying what is known"
  "${apt[@]}" install -y --no-install-recommends "${packages[@]}" </dev/null >/dev/null ||
    say "apt-get install failed; going on with what is there"
  find_python
  find_missing
}

require_tools() {
  ((${#missing[@]} == 0)) ||
    die "missing: $(printf '%s, ' "${missing[@]}" | sed 's/, $//');" \
      "as root: apt-get install ${packages[*]}"
}

note_missing() {
  local codec name header package what
  for codec in "${lacking[@]}"; do
    read -r name header package what <<<"$codec"
    say "$what: $header is missing; as root: apt-get install $package"
  done
}

# One line for everything that the installed package is made of.
source_key() {
  {
    printf '%s\n' "$base_version" "${lacking[@]}" "${PENSTOCK_JPEG:-}" \
      "${PENSTOCK_PNG:-}" "${PENSTOCK_ZLIB:-}" "${PENSTOCK_ZSTD:-}" "${PENSTOCK_RE2:-}" "${CXX:-}" "${CXXFLAGS:-}" \
      "${CMAKE_ARGS:-}" "${LDFLAGS:-}"
    cd -- "$root"
    find CMakeLists.txt pyproject.toml cpp python -name '__pycache__' -prune -o \
      -type f ! -name '*.pyc' ! -name '*.so' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum
}

# The requirements of a group can change only with pyproject.toml.
group_key() { printf '%s %s' "$base_version" "$(sha256sum <"$root/pyproject.toml")"; }

is_stamped() { [[ -f $state/$1 && $(<"$state/$1") == "$2" ]]; }

# Which of the groups are not installed as pyproject.toml now asks.
stale_groups() {
  local group key
  key=$(group_key)
  for group in "$@"; do
    is_stamped "group-$group" "$key" || printf '%s\n' "$group"
  done
}

is_ready() {
  is_stamped source "$(source_key)" && [[ -z $(stale_groups base "$@") ]] &&
    venv_works penstock numpy
}

venv_works() {
  is_stamped made "$base_version $venv" && "$venv_python" -c '
import sys
from importlib.util import find_spec
sys.exit(not all(map(find_spec, ["pip", *sys.argv[1:]])))' "$@" 2>/dev/null
}

make_venv() {
  ! venv_works || return 0
  if [[ -e $venv && ! -e $state && -n $(ls -A -- "$venv") ]]; then
    die "$venv exists and was not made by this script; remove it, or set PENSTOCK_VENV to another"
  fi
  say "making a virtual environment in $venv (Python $base_version)"
  rm -rf -- "$venv"
  mkdir -p -- "$state"
  "$base_python" -m venv "$venv"
  printf '%s' "$base_version $venv" >"$state/made"
}

pip() { "$venv_python" -m pip --quiet --quiet "$@" </dev/null; }  # twice: errors only

# Prints the requirements of groups or extras, one a line; "base" stands for those of building and running.
requirements() {
  (cd -- "$root" && "$venv_python" - "$@") <<'PYTHON'
import sys, tomllib

with open("pyproject.toml", "rb") as file:
    settings = tomllib.load(file)
project = settings["project"]
groups = {**project["optional-dependencies"], **settings["dependency-groups"]}
groups["base"] = [*settings["build-system"]["requires"], *project["dependencies"]]
print(*sorted({line for name in sys.argv[1:] for line in groups[name]}), sep="\n")
PYTHON
}

# CMake and Ninja, when the system has none that are new enough.
build_tools() {
  (cd -- "$root" && "$venv_python" -c '
from scikit_build_core.build import get_requires_for_build_wheel as required
print(*(line for line in required({}) if line.startswith(("cmake", "ninja"))), sep="\n")')
}

# What the packaging test installs into clean environments, so that it needs no network.
download_wheels() {
  local lines wanted
  wanted=$(requirements base && build_tools)
  ! is_stamped wheels/wanted "$wanted" || return 0
  mapfile -t lines <<<"$wanted"
  pip download --dest "$state/wheels" "${lines[@]}"
  printf '%s' "$wanted" >"$state/wheels/wanted"
}

install_groups() {
  local group stale lines key
  mapfile -t stale < <(stale_groups base "$@")
  ((${#stale[@]})) || return 0
  say "installing the packages for: ${stale[*]}"
  rm -f -- "${stale[@]/#/$state/group-}"
  lines=$(requirements "${stale[@]}")
  mapfile -t lines <<<"$lines"
  pip install "${lines[@]}"
  if [[ " ${stale[*]} " == *" test "* ]]; then
    download_wheels
  fi
  key=$(group_key)
  for group in "${stale[@]}"; do printf '%s' "$key" >"$state/group-$group"; done
}

# As many compilers as processors, and not more than one for each GiB of free memory.
compile_jobs() {
  local jobs memory
  jobs=$(nproc 2>/dev/null || echo 2)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo 2)
  ((jobs < memory)) || jobs=$memory
  echo $((jobs > 1 ? jobs : 1))
}

install_penstock() {
  local key tools
  key=$(source_key)
  ! is_stamped source "$key" || ! venv_works penstock || return 0
  say "compiling and installing penstock"
  rm -f -- "$state/source"
  tools=$(build_tools)
  if [[ -n $tools ]]; then
    mapfile -t tools <<<"$tools"
    pip install "${tools[@]}"
  fi
  rm -rf -- "$state/wheel"
  # Without isolation CMake sees the same paths as before and compiles only what changed.
  CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(compile_jobs)} \
    pip wheel --no-deps --no-build-isolation --wheel-dir "$state/wheel" \
    --config-settings=build-dir="$state/build/{wheel_tag}" "$root"
  pip install --no-deps --force-reinstall "$state"/wheel/*.whl
  printf '%s' "$key" >"$state/source"
}

# Torch comes first and by itself: its version is exact, because a range would bring gigabytes of CUDA.
install_apart() {
  local group=$1 wheel=$2 groups source lines torch
  groups=$(group_key)
  if ! is_stamped "group-$group" "$groups"; then
    say "installing the packages for: $group"
    rm -f -- "$state/group-$group"
    lines=$(requirements "$group")
    mapfile -t lines <<<"$lines"
    torch=$(printf '%s\n' "${lines[@]}" | grep '^torch==') && pip install --no-compile "$torch"
    pip install --no-compile "${lines[@]}"
    printf '%s' "$groups" >"$state/group-$group"
  fi
  source=$(source_key)
  if ! is_stamped source "$source" || ! venv_works penstock; then
    rm -f -- "$state/source"
    pip install --no-deps --force-reinstall "$wheel"
    printf '%s' "$source" >"$state/source"
  fi
}

lock() {  # two calls that share an environment take turns
  command -v flock >/dev/null || return 0
  flock -n 9 || { say "waiting for another set-up of $venv" && flock 9; }
}

penstock_setup() {
  find_python
  find_missing
  if ! is_ready "$@"; then
    mkdir -p -- "$(dirname -- "$venv")"
    local start=$SECONDS
    {
      lock
      install_packages
      require_tools
      make_venv
      install_groups "$@"
      install_penstock
    } 9<"$(dirname -- "$venv")"
    say "ready after $((SECONDS - start)) s"
  fi
  note_missing
}

penstock_setup_apart() {
  local group=$1 wheel
  penstock_setup
  wheel=$(echo "$state"/wheel/*.whl)
  apart_python=$venv-$group/bin/python
  (
    venv=$venv-$group
    venv_python=$apart_python
    state=$venv/.penstock
    lock
    make_venv
    install_apart "$group" "$wheel"
  ) 9<"$(dirname -- "$venv")"
}
