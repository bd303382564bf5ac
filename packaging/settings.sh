if [ -r "$settings" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*}
    case "$line" in EXITWARD_*=* | NODE_*=* | PG*=*) ;; *) continue ;; esac
    case "$name" in *[!A-Z0-9_]*) continue ;; esac
    eval "[ -n \"\${$name+set}\" ]" && continue
    value=${line#*=}
    case "$value" in '"'*'"') value=${value#?} value=${value%?} ;; esac
    export "$name=$value"
  done < "$settings"
fi
