#compdef openai-responses-mcp
# Completion of openai-responses-mcp for zsh.

_openai-responses-mcp() {
    local -a common commands
    common=(
        '--config[YAML file]:file:_files'
        '--model[model of the profile]:model:'
        '--offline[answer from a built-in fake API]'
        '--debug=-[log to stderr, and to a file]::file:_files'
        '--help[print the flags]'
    )
    commands=(
        'serve:serve MCP over HTTP, for teams'
        'ask:answer a question in the terminal'
        'smoke:run a session and ask once'
        'login:store the API key'
        'doctor:check everything, and say what to do'
        'setup:print the configuration of an MCP client'
        'completion:print a script that completes commands and flags'
        'help:print the flags of a command'
    )

    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe command commands
        return
    fi

    local command=$words[2]
    if [[ $command != -* ]]; then
        shift words
        (( CURRENT-- ))
    fi

    case $command in
    serve)
        _arguments $common \
            '--http[address to listen on]:address:' \
            '--metrics[address of its own for /metrics]:address:' \
            '--path[path of the MCP endpoint]:path:' \
            '--max-calls[requests that run at once]:number:' \
            '--max-calls-per-user[how many of them are of one user]:number:' \
            '--calls-per-hour[calls that one user may start in an hour]:number:' \
            '--notice[how long everything stays open after SIGTERM]:duration:' \
            '--drain[how long calls may then finish]:duration:' \
            '--log-format[format of the log]:format:(text json)' \
            '*--allowed-host[accepted Host header]:host:_hosts' \
            '--trusted-proxy[proxy that names addresses of clients]:address:' \
            '--allow-anonymous[no tokens on an address other than loopback]' \
            '--public-url[URL that clients connect to]:url:' \
            '*--oauth-issuer[issuer of access tokens]:url:' \
            '*--oauth-audience[accepted audience]:audience:' \
            '*--oauth-scope[required scope]:scope:' \
            '--oauth-user[claim with the name of a user]:claim:'
        ;;
    ask)
        _arguments $common '*:question:' \
            '(--quick)--detailed[use the profile of answer_detailed]' \
            '(--detailed)--quick[use the profile of answer_quick]' \
            '--domains[prefer these domains]:domains:' \
            '--only-domains[search no other domains]' \
            '--exclude-domains[neither search nor cite these domains]:domains:' \
            '--recency-days[prefer pages of the last days]:days:' \
            '--max-results[look at up to so many results]:number:' \
            '(--events)--json[print the JSON that the tools return]' \
            '(--json)--events[print what happens as JSON lines]' \
            '--usage[print tokens, searches and seconds]' \
            '--color[whether the answer has colours]:when:(auto always never)'
        ;;
    smoke)
        _arguments $common '*:question:' \
            '--ldjson[one JSON value a line]' \
            '--tool[tool to call]:tool:(answer answer_detailed answer_quick)' \
            '--ping[also send a ping]' \
            '--cancel[also cancel a call]'
        ;;
    login)
        _arguments \
            '--remove[delete the stored key]' \
            '--config[YAML file]:file:_files' \
            '--help[print the flags]'
        ;;
    doctor)
        _arguments $common \
            '--live[also ask the API one short question]' \
            '--json[print the checks as JSON]'
        ;;
    setup)
        _arguments \
            '--via[how the client reaches the server]:way:(npx docker binary http)' \
            '--url[URL of a running server]:url:' \
            '--oauth[the client signs in]' \
            '--config[YAML file]:file:_files' \
            '--help[print the flags]' \
            '1:client:(${(f)"$(openai-responses-mcp setup 2>/dev/null | cut -d " " -f 1)"})'
        ;;
    completion) _arguments '--help[print the flags]' '1:shell:(bash zsh fish)' ;;
    help) _describe command commands ;;
    *)
        _arguments $common \
            '--stdio[serve MCP]' \
            '--show-config[print the configuration]' \
            '(-v --version)'{-v,--version}'[print the version]'
        ;;
    esac
}

# In fpath the file is the body of the function; otherwise it is sourced.
if [[ $funcstack[1] == _openai-responses-mcp ]]; then
    _openai-responses-mcp "$@"
else
    compdef _openai-responses-mcp openai-responses-mcp
fi
