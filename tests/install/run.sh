#!/usr/bin/env bash
# run.sh BUILD: installs BUILD into a temporary prefix and uses what is there as a stranger would.
set -euo pipefail
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
build=$(cd "${1:?usage: $0 BUILD}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

say() { echo "install: $*"; }
must() { [ -s "$prefix/$1" ] || { say "$1 was not installed"; exit 1; }; }

cmake --install "$build" --prefix "$prefix" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
lib=$(cd "$prefix" && dirname "$(find . -name parley.pc | sed 's|^\./||')")
lib=${lib%/pkgconfig}
for file in bin/parley "$lib/libparley.so" include/parley.h "$lib/pkgconfig/parley.pc" share/man/man1/parley.1 \
    share/bash-completion/completions/parley share/zsh/site-functions/_parley; do
    must "$file"
done

exported=$(nm -D --defined-only "$prefix/$lib/libparley.so" | awk '$2 != "A" { print $3 }')
if echo "$exported" | grep -qv '^parley_[a-z_]*@@PARLEY_0$'; then
    say "libparley.so exports more than versioned parley_* symbols:"
    echo "$exported" | grep -v '^parley_[a-z_]*@@PARLEY_0$'
    exit 1
fi
declared=$(grep -o 'PARLEY_API .*' "$prefix/include/parley.h" | grep -o 'parley_[a-z_]*(' | tr -d '(' | sort)
[ "$declared" = "$(echo "$exported" | sed 's/@@.*//' | sort)" ] || {
    say "what parley.h declares is not what libparley.so exports"
    exit 1
}

export PKG_CONFIG_PATH=$prefix/$lib/pkgconfig LD_LIBRARY_PATH=$prefix/$lib
read -ra flags <<< "$(pkg-config --cflags --libs parley)"
"$prefix/bin/parley" generate text --rows 300 --columns 50 --nonzeros 5 --quiet "$scratch/data.svm"
printf 'class,x,y\nred,1,2\ngreen,2,1\nblue,0,3\nred,1,1\ngreen,3,0\nblue,1,4\n' > "$scratch/words.csv"
for language in c c++; do
    compiler=cc
    [ $language = c ] || compiler=c++
    command -v $compiler > /dev/null || continue
    for example in train_file train_arrays predict_file; do
        $compiler -Wall -Wextra -Wpedantic -Werror -x $language "$examples/$example.c" -x none "${flags[@]}" \
            -o "$scratch/$example"
    done
    output=$("$scratch/train_file" "$scratch/data.svm")
    [[ $output =~ ^converged\ at\ relative\ gap\ [0-9.e-]+$ ]] || { say "train_file.c in $language printed: $output"; exit 1; }
    "$prefix/bin/parley" train "$scratch/words.csv" --quiet --model "$scratch/words.safetensors" > /dev/null
    "$prefix/bin/parley" predict "$scratch/words.safetensors" "$scratch/words.csv" > "$scratch/expected"
    "$scratch/predict_file" "$scratch/words.safetensors" "$scratch/words.csv" | cmp - "$scratch/expected" || {
        say "predict_file.c in $language does not print what parley predict prints"
        exit 1
    }
    held=$("$scratch/train_arrays" | sed 's/after [0-9]* rounds by [a-z+-]*/after N rounds by P/')
    [ "$held" = "lambda 0.01: converged after N rounds by P, relative gap at most 1e-6: yes
lambda 0.001: converged after N rounds by P, relative gap at most 1e-6: yes
trained: more than nine tenths of the rows are right
learnt in batches: more than nine tenths of the rows are right" ] || { say "train_arrays.c in $language printed: $held"; exit 1; }
done
[ "$("$prefix/bin/parley" --version)" = "parley $(pkg-config --modversion parley)" ] || {
    say "parley --version and parley.pc disagree"
    exit 1
}
bash -n "$prefix/share/bash-completion/completions/parley"
completed=$(bash -c ". '$prefix/share/bash-completion/completions/parley'
    COMP_WORDS=(parley train --lam) COMP_CWORD=2; _parley; echo \"\${COMPREPLY[*]}\"")
[ "$completed" = --lambda ] || { say "bash completes --lam to: $completed"; exit 1; }
if command -v zsh > /dev/null; then zsh -n "$prefix/share/zsh/site-functions/_parley"; fi
if command -v groff > /dev/null; then
    warnings=$(groff -man -Tutf8 -ww "$prefix/share/man/man1/parley.1" 2>&1 > "$scratch/page")
    [ -z "$warnings" ] || { say "the man page has faults: $warnings"; exit 1; }
fi
say "$output, by the installed library"
