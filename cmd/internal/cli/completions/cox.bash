# bash completion of cox; load it with: source <(cox completion bash)
_cox() {
	local -a words=()
	local i n=0 word previous='' before='' value files=''
	COMPREPLY=()
	# bash cuts words at = and :, which belong to one word here
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((n > 0)) && [[ $word == [=:] || $previous == *[=:] ]]; then
			before=$previous
			words[n - 1]+=$word
		else
			before=''
			words[n++]=$word
		fi
		previous=${words[n - 1]}
	done
	[[ ${COMP_WORDS[COMP_CWORD]} == [=:] ]] && before+=${COMP_WORDS[COMP_CWORD]}
	while IFS=$'\t' read -r value _; do
		case $value in
		:files) files=1 ;;
		*) COMPREPLY+=("${value#"$before"}") ;;
		esac
	done < <("$1" complete-words -- "${words[@]}" 2>/dev/null)
	if [[ -n $files ]]; then
		compopt -o default 2>/dev/null
	fi
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}
complete -F _cox cox
