#!/usr/bin/env bash
# Builds inspect and runs it as action.yml says. What the caller gave stands in
# variables that begin with INSPECT_, and none of it is evaluated. Works with the
# bash 3.2 of macOS and that of Git for Windows.
set -euo pipefail
export LC_ALL=C # bytes are bytes, and the order of patterns is one everywhere

# escaped sets text to what stands for a text in a command to the runner.
escaped() {
	text=${1//'%'/%25}
	text=${text//$'\r'/%0D}
	text=${text//$'\n'/%0A}
}

# annotate shows a message beside the job: level, then text.
annotate() {
	escaped "$2"
	printf '::%s title=inspect::%s\n' "$1" "$text"
}

# annotations shows the findings of a severity at their lines: severity, the level
# that stands for it, how many at the most. What it reads are lines of inspect.
annotations() {
	local line place file shown=0
	while IFS= read -r line && [ "$shown" -lt "$3" ]; do
		# The first place in the line is that of the finding.
		[[ $line =~ :([0-9]+):([0-9]+):\ (error|warning|info):\  ]] || continue
		[ "${BASH_REMATCH[3]}" = "$1" ] || continue
		place="line=${BASH_REMATCH[1]},col=${BASH_REMATCH[2]}"
		escaped "${line%%"${BASH_REMATCH[0]}"*}"
		file=${text//:/%3A}
		file=${file//,/%2C}
		escaped "${line#*"${BASH_REMATCH[0]}"}"
		printf '::%s file=%s,%s,title=inspect::%s\n' "$2" "$file" "$place" "$text"
		shown=$((shown + 1))
	done <"$work/lines"
}

# output sets an output of the step: name, then value. The value may hold
# anything, so what ends it is not to be guessed.
output() {
	printf '%s<<%s\n%s\n%s\n' "$1" "$secret" "$2" "$secret" >>"$GITHUB_OUTPUT"
}

failed() {
	annotate error "$1"
	output status failed
	exit 2
}

secret=plugberth-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=()
for input in lint:"${INSPECT_LINT:-false}" lenient:"${INSPECT_LENIENT:-false}"; do
	case ${input#*:} in
	true) flags+=("-${input%%:*}") ;;
	false) ;;
	*) failed "${input%%:*} is neither true nor false" ;;
	esac
done
case ${INSPECT_ANNOTATIONS:-true} in
true | false) ;;
*) failed "annotations is neither true nor false" ;;
esac
case ${INSPECT_FAIL_ON:-error} in
error | warning | never) flags+=(-fail-on "${INSPECT_FAIL_ON:-error}") ;;
*) failed "fail-on is none of error, warning and never" ;;
esac

# A line is a directory, or else a pattern of directories.
paths=()
while IFS= read -r line || [ -n "$line" ]; do
	line=${line%$'\r'}
	case $line in
	*[![:space:]]*) ;;
	*) continue ;;
	esac
	found=()
	if [ ! -d "$line" ]; then
		IFS=
		# shellcheck disable=SC2206 # the pattern is meant, and without IFS nothing is split
		matches=($line)
		unset IFS
		for match in "${matches[@]}"; do
			if [ -d "$match" ]; then
				found+=("$match")
			fi
		done
	fi
	# What matches nothing is inspected all the same, which fails and says why.
	paths+=("${found[@]-$line}")
done <<<"${INSPECT_PATHS-}"
if [ ${#paths[@]} -eq 0 ]; then
	failed "paths is empty"
fi

# A release is unpacked without its history, so the build knows no version.
ldflags=
case ${INSPECT_REF:-} in
*[!0-9A-Za-z.+-]*) ;;
v[0-9]*.[0-9]*.[0-9]*) ldflags=-X=main.version=$INSPECT_REF ;;
esac
# The caller's settings are for the caller's modules.
if ! (cd "$GITHUB_ACTION_PATH/../../.." &&
	GOWORK=off GOFLAGS='' go build -buildvcs=false -ldflags "$ldflags" -o "$work/inspect.exe" ./examples/inspect); then
	failed "inspect could not be built"
fi

status=0
"$work/inspect.exe" "${flags[@]}" -- "${paths[@]}" >"$work/text" 2>"$work/trouble" || status=$?

# What packages hold cannot give commands to the runner.
printf '::stop-commands::%s\n' "$secret"
cat "$work/text" "$work/trouble"
printf '::%s::\n' "$secret"

# One error is left for what the step itself has to say.
if [ "${INSPECT_ANNOTATIONS:-true}" = true ]; then
	"$work/inspect.exe" -lines "${flags[@]}" -- "${paths[@]}" >"$work/lines" 2>/dev/null || true
	annotations error error 9
	annotations warning warning 10
	annotations info notice 10
fi

if [ -n "${INSPECT_SARIF:-}" ]; then
	again=0
	"$work/inspect.exe" -sarif "${flags[@]}" -- "${paths[@]}" >"$work/sarif" 2>/dev/null || again=$?
	case $INSPECT_SARIF in
	/* | ?:*) sarif=$INSPECT_SARIF ;;
	*) sarif=./$INSPECT_SARIF ;; # which is no option
	esac
	# The old file goes first: it may be a link that the repository brought along.
	if ! { mkdir -p "$(dirname "$sarif")" && rm -f "$sarif" && cp "$work/sarif" "$sarif"; }; then
		failed "the SARIF file could not be written"
	fi
	if [ "$status" -lt 2 ] && [ "$again" -eq "$status" ]; then
		output sarif "$INSPECT_SARIF"
	fi
fi

# The last line counts.
counts=$(grep . "$work/text" | tail -n 1) || counts=
if [ "$status" -ge 2 ]; then
	: # what was counted is not all
elif [[ $counts =~ \;\ ([0-9]+)\ errors?,\ ([0-9]+)\ warnings?,\ [0-9]+\ info$ ]]; then
	output errors "${BASH_REMATCH[1]}"
	output warnings "${BASH_REMATCH[2]}"
elif [[ $counts == *'; no findings' ]]; then
	output errors 0
	output warnings 0
fi

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	# GitHub takes a megabyte, and a character becomes five at most.
	most=150000
	rest=
	cat "$work/text" "$work/trouble" >"$work/all"
	if [ "$(wc -c <"$work/all")" -gt $most ]; then
		head -c $most "$work/all" | sed '$d' >"$work/cut" # the last line is a part of one
		mv "$work/cut" "$work/all"
		rest='The rest stands in the log of the step.'
	fi
	{
		printf '### Agent Plugins\n\n<pre>\n'
		sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' "$work/all"
		printf '</pre>\n\n%s\n' "$rest"
	} >>"$GITHUB_STEP_SUMMARY"
fi

case $status in
0) output status passed ;;
1)
	output status findings
	annotate error "$counts"
	;;
*) failed "$(tail -n 1 "$work/trouble")" ;;
esac
exit "$status"
