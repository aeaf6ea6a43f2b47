#compdef cox
# zsh completion of cox; load it with: source <(cox completion zsh)
_cox() {
	local -a values given
	local value description files=
	given=("${(@Q)words[2,CURRENT]}")
	while IFS=$'\t' read -r value description; do
		if [[ $value == :files ]]; then
			files=1
		else
			values+=("${value//:/\\:}:$description")
		fi
	done < <("${(Q)words[1]}" complete-words -- "${given[@]}" 2>/dev/null)
	if (( ${#values} )); then
		_describe -t cox cox values
	fi
	if [[ -n $files ]]; then
		_files
	fi
}
if [[ ${funcstack[1]:-} == _cox ]]; then
	_cox "$@"
else
	compdef _cox cox
fi
