# environment.sh: sourced by the tests that install the wheel. They set root, folder and wheel.

# environment NAME PACKAGES...: an environment with the wheel, what it depends on, and packages, in $folder/NAME. It is made anew
# when its packages or the dependencies of the wheel are others than last time; else only the wheel is installed again. No
# compiler is on the path.
environment() {
    local name=$1 made=$folder/$1.made wanted
    shift
    wanted="$* $(sed -n 's/^dependencies = //p' "$root/pyproject.toml")"
    if [ -e "$made" ] && [ "$(cat "$made")" = "$wanted" ]; then
        PATH=$folder/$name/bin pip install -q --no-compile --force-reinstall --no-deps "$root/$wheel"
        return
    fi
    rm -rf "${folder:?}/$name" "$made"
    python3 -m venv "$folder/$name"
    [ $# -eq 0 ] || "$folder/$name/bin/pip" install -q "$@"
    PATH=$folder/$name/bin pip install -q --no-compile "$root/$wheel"
    echo "$wanted" > "$made"
}
