#!/usr/bin/env bash
# Runs check or doctor and writes SARIF. PROGRAM is the plugin, COMMAND the command, ARGS its
# arguments, one per line, and SARIF the file to write. What GITHUB_OUTPUT names gets exit-code=N,
# findings=N and sarif=FILE. It fails only if there is no report.
set -euo pipefail

case ${COMMAND:-} in
check | doctor) ;;
*) echo "::error::command must be check or doctor, not \"${COMMAND:-}\"" >&2 && exit 2 ;;
esac
words=()
while IFS= read -r line; do
	# Lines without text separate nothing.
	[[ $line =~ ^[[:space:]]*$ ]] || words+=("$line")
done <<<"${ARGS:-}"
code=0
"$PROGRAM" "$COMMAND" "${words[@]+"${words[@]}"}" -o sarif >"$SARIF" || code=$?
case $code in
0 | 3 | 4) ;;
*)
	rm -f "$SARIF"
	echo "::error::$COMMAND failed with exit code $code; see its message above" >&2
	exit "$code"
	;;
esac
findings=$(grep -c '"ruleId":' "$SARIF" || true)
{
	echo "exit-code=$code"
	echo "findings=$findings"
	echo "sarif=$SARIF"
} >>"$GITHUB_OUTPUT"
case $code in
0) echo "$COMMAND reports $findings findings, none of which fails the job" ;;
3) echo "$COMMAND reports $findings findings" ;;
4) echo "$COMMAND reports $findings findings, and could not check everything" ;;
esac
