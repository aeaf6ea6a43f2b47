# fish completion of cox; load it with: cox completion fish | source
function __cox_ask
    set -l words (commandline -opc)
    command $words[1] complete-words -- $words[2..-1] (commandline -ct) 2>/dev/null
end
function __cox_words
    __cox_ask | string match -v --regex '^:files'
end
function __cox_files
    __cox_ask | string match -q --regex '^:files'
end
complete -c cox -f -a '(__cox_words)'
complete -c cox -n __cox_files -F
