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
elif [ -z "$named" ] && { [ -e "$settings" ] || { [ -d "${settings%/*}" ] && [ ! -x "${settings%/*}" ]; }; }; then
  # With its defaults the program would work on a network that is not the one of this machine.
  case " $* " in
    "  " | " -"* | " help "* | " complet"* | *" --help "* | *" -h "*) ;;
    *)
      echo "${0##*/}: This user may not read $settings, which has the settings of this machine. $remedy" >&2
      exit 1
      ;;
  esac
fi
