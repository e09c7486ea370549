# Completion of openai-responses-mcp for bash. Values that are not known here are completed as file
# names.

_openai_responses_mcp() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' words=''
    local common="--config --model --offline --debug --help"
    local commands="serve ask smoke login doctor setup completion help"
    [ "$COMP_CWORD" -eq 1 ] || command=${COMP_WORDS[1]}

    case $command in
    serve)
        words="$common --http --metrics --path --max-calls --max-calls-per-user --calls-per-hour
            --notice --drain --log-format --allowed-host --trusted-proxy --allow-anonymous --public-url
            --oauth-issuer --oauth-audience --oauth-scope --oauth-user"
        ;;
    ask)
        words="$common --detailed --quick --domains --only-domains --exclude-domains --recency-days
            --max-results --json --events --usage --color"
        ;;
    smoke) words="$common --ldjson --tool --ping --cancel" ;;
    login) words="--remove --config --help" ;;
    doctor) words="$common --live --json" ;;
    setup)
        words="--via --url --oauth --config --help"
        [[ $word == -* ]] || words=$("${COMP_WORDS[0]}" setup 2>/dev/null | cut -d ' ' -f 1)
        ;;
    completion) words="bash zsh fish --help" ;;
    help) words=$commands ;;
    *)
        words="$common --stdio --show-config --version"
        [[ -n $command || $word == -* ]] || words=$commands
        ;;
    esac

    case $before in
    --via) words="npx docker binary http" ;;
    --color) words="auto always never" ;;
    --log-format) words="text json" ;;
    --tool) words="answer answer_detailed answer_quick" ;;
    --config | --debug | --model | --url) return ;;
    *)
        case $command:$word in
        *:-* | :* | setup:* | completion:* | help:*) ;;
        *) return ;; # the words of a question, and values
        esac
        ;;
    esac

    # shellcheck disable=SC2207 # the words have no blanks
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}

complete -o default -F _openai_responses_mcp openai-responses-mcp
