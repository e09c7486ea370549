# Completion of openai-responses-mcp for fish.

set -l commands serve ask smoke login doctor setup completion help
set -l first "not __fish_seen_subcommand_from $commands"

complete -c openai-responses-mcp -f
complete -c openai-responses-mcp -n $first -a serve -d 'serve MCP over HTTP, for teams'
complete -c openai-responses-mcp -n $first -a ask -d 'answer a question in the terminal'
complete -c openai-responses-mcp -n $first -a smoke -d 'run a session and ask once'
complete -c openai-responses-mcp -n $first -a login -d 'store the API key'
complete -c openai-responses-mcp -n $first -a doctor -d 'check everything, and say what to do'
complete -c openai-responses-mcp -n $first -a setup -d 'print the configuration of an MCP client'
complete -c openai-responses-mcp -n $first -a completion -d 'print a script that completes commands and flags'
complete -c openai-responses-mcp -n $first -a help -d 'print the flags of a command'

complete -c openai-responses-mcp -l help -d 'print the flags'
complete -c openai-responses-mcp -n 'not __fish_seen_subcommand_from completion help' -l config -r -F -d 'YAML file'
set -l common 'not __fish_seen_subcommand_from login setup completion help'
complete -c openai-responses-mcp -n $common -l model -x -d 'model of the profile'
complete -c openai-responses-mcp -n $common -l offline -d 'answer from a built-in fake API'
complete -c openai-responses-mcp -n $common -l debug -d 'log to stderr, and to a file'

complete -c openai-responses-mcp -n $first -l stdio -d 'serve MCP'
complete -c openai-responses-mcp -n $first -l show-config -d 'print the configuration'
complete -c openai-responses-mcp -n $first -s v -l version -d 'print the version'

set -l in '__fish_seen_subcommand_from serve'
complete -c openai-responses-mcp -n $in -l http -x -d 'address to listen on'
complete -c openai-responses-mcp -n $in -l metrics -x -d 'address of its own for /metrics'
complete -c openai-responses-mcp -n $in -l path -x -d 'path of the MCP endpoint'
complete -c openai-responses-mcp -n $in -l max-calls -x -d 'requests that run at once'
complete -c openai-responses-mcp -n $in -l max-calls-per-user -x -d 'how many of them are of one user'
complete -c openai-responses-mcp -n $in -l calls-per-hour -x -d 'calls that one user may start in an hour'
complete -c openai-responses-mcp -n $in -l notice -x -d 'how long everything stays open after SIGTERM'
complete -c openai-responses-mcp -n $in -l drain -x -d 'how long calls may then finish'
complete -c openai-responses-mcp -n $in -l log-format -x -a 'text json' -d 'format of the log'
complete -c openai-responses-mcp -n $in -l allowed-host -x -d 'accepted Host header'
complete -c openai-responses-mcp -n $in -l trusted-proxy -x -d 'proxy that names addresses of clients'
complete -c openai-responses-mcp -n $in -l allow-anonymous -d 'no tokens on an address other than loopback'
complete -c openai-responses-mcp -n $in -l public-url -x -d 'URL that clients connect to'
complete -c openai-responses-mcp -n $in -l oauth-issuer -x -d 'issuer of access tokens'
complete -c openai-responses-mcp -n $in -l oauth-audience -x -d 'accepted audience'
complete -c openai-responses-mcp -n $in -l oauth-scope -x -d 'required scope'
complete -c openai-responses-mcp -n $in -l oauth-user -x -d 'claim with the name of a user'

set -l in '__fish_seen_subcommand_from ask'
complete -c openai-responses-mcp -n $in -l detailed -d 'use the profile of answer_detailed'
complete -c openai-responses-mcp -n $in -l quick -d 'use the profile of answer_quick'
complete -c openai-responses-mcp -n $in -l domains -x -d 'prefer these domains'
complete -c openai-responses-mcp -n $in -l only-domains -d 'search no other domains'
complete -c openai-responses-mcp -n $in -l exclude-domains -x -d 'neither search nor cite these domains'
complete -c openai-responses-mcp -n $in -l recency-days -x -d 'prefer pages of the last days'
complete -c openai-responses-mcp -n $in -l max-results -x -d 'look at up to so many results'
complete -c openai-responses-mcp -n $in -l json -d 'print the JSON that the tools return'
complete -c openai-responses-mcp -n $in -l events -d 'print what happens as JSON lines'
complete -c openai-responses-mcp -n $in -l usage -d 'print tokens, searches and seconds'
complete -c openai-responses-mcp -n $in -l color -x -a 'auto always never' -d 'whether the answer has colours'

set -l in '__fish_seen_subcommand_from smoke'
complete -c openai-responses-mcp -n $in -l ldjson -d 'one JSON value a line'
complete -c openai-responses-mcp -n $in -l tool -x -a 'answer answer_detailed answer_quick' -d 'tool to call'
complete -c openai-responses-mcp -n $in -l ping -d 'also send a ping'
complete -c openai-responses-mcp -n $in -l cancel -d 'also cancel a call'

set -l in '__fish_seen_subcommand_from login'
complete -c openai-responses-mcp -n $in -l remove -d 'delete the stored key'

set -l in '__fish_seen_subcommand_from doctor'
complete -c openai-responses-mcp -n $in -l live -d 'also ask the API one short question'
complete -c openai-responses-mcp -n $in -l json -d 'print the checks as JSON'

set -l in '__fish_seen_subcommand_from setup'
complete -c openai-responses-mcp -n $in -l via -x -a 'npx docker binary http' -d 'how the client reaches the server'
complete -c openai-responses-mcp -n $in -l url -x -d 'URL of a running server'
complete -c openai-responses-mcp -n $in -l oauth -d 'the client signs in'
complete -c openai-responses-mcp -n $in -a '(openai-responses-mcp setup 2>/dev/null | string split -f 1 " ")'

complete -c openai-responses-mcp -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c openai-responses-mcp -n '__fish_seen_subcommand_from help' -a "$commands"
