#!/bin/sh
# Makes this machine a node of a network: installs the agent of Exitward, checks the machine, joins, starts, checks again.
#
#   echo CODE | sh exitward-install.sh URL [NAME]
#
# The code is read from standard input, so that no list of processes shows it. After a fault that was mended the same line
# goes on where it stopped. CURL_CA_BUNDLE names the certificate authority of the control plane, where that is your own.
set -eu

# ARCHITECTURE FILE SHA256, a line each: the packages of the control plane that this came from.
packages='@PACKAGES@'

agent=exitward-agent
settings=/etc/exitward/agent.env
authority=/etc/exitward/ca.pem

say() { printf 'exitward: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}
has() { command -v "$1" > /dev/null 2>&1; }

# Everything is a function: a part of this file does nothing.
main() {
  url=${1-}
  name=${2-$(uname -n)}
  case "$url" in
    https://?* | http://?*) ;;
    *) fail 'expected the URL of the control plane: echo CODE | sh exitward-install.sh URL' ;;
  esac
  become_root "$@"
  check_system
  read_code
  install_agent
  say 'looking at the machine before it joins'
  $agent doctor "$url" ||
    fail 'nothing was joined: fix the faults above, then paste the same line again; its code still works'
  printf '%s\n' "$code" | $agent join "$url" - --name "$name"
  systemctl enable --now $agent
  wait_until_it_follows
  say 'looking at the machine again'
  $agent doctor ||
    fail "the machine joined and its agent runs, with the faults above; look again with: $agent doctor"
  say "done: $agent status shows how it stands, journalctl -u $agent what it does"
}

# Standard input stays what it is: the code is still in it.
become_root() {
  [ "$(id -u)" -ne 0 ] || return 0
  has sudo || fail 'this takes root, and there is no sudo here: paste the line as root (su -)'
  say 'this takes root: sudo asks for it'
  [ -z "${CURL_CA_BUNDLE-}" ] || exec sudo env "CURL_CA_BUNDLE=$CURL_CA_BUNDLE" sh "$0" "$@"
  exec sudo sh "$0" "$@"
}

check_system() {
  # In a subshell: the file sets many names.
  system=$(
    ID='' VERSION_ID=''
    # shellcheck source=/dev/null
    [ ! -r /etc/os-release ] || . /etc/os-release
    printf '%s %s' "$ID" "${VERSION_ID:-999}"
  )
  release=${system#* }
  case "${system%% *}" in
    debian) oldest=12 ;;
    ubuntu) oldest=24 ;;
    *) fail "this is neither Debian nor Ubuntu: install $agent as docs/agent.md says, then: $agent join $url -" ;;
  esac
  [ "${release%%.*}" -ge "$oldest" ] ||
    fail "this is ${system%% *} $release, whose Squid is too old: expected $oldest or newer"
  [ -d /run/systemd/system ] ||
    fail "systemd does not run here, which starts the agent: in a container see docs/containers.md, else docs/agent.md"
  [ ! -e /var/lib/exitward-agent/node.json ] ||
    fail "this machine has joined a network already, and nothing was changed: $agent status tells which; $agent join --again makes it another's"
  architecture=$(dpkg --print-architecture)
}

read_code() {
  [ ! -t 0 ] || printf 'Code of the invitation: ' >&2
  code=
  IFS= read -r code || [ -n "$code" ] || fail 'no code came by standard input: echo CODE | sh exitward-install.sh URL'
  case "$code" in
    ewi_*) ;;
    *) fail 'what came by standard input is no code of an invitation, which begins with ewi_' ;;
  esac
}

# Sets file and sum to the package of this architecture; both are empty where there is none.
find_package() {
  file='' sum=''
  while read -r one_architecture one_file one_sum; do
    if [ "$one_architecture" = "$architecture" ]; then file=$one_file sum=$one_sum; fi
  done << END
$packages
END
}

install_agent() {
  find_package
  # Where none is installed dpkg-query fails, and prints nothing or the empty version of a removed one.
  # shellcheck disable=SC2016
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Version}' $agent 2> /dev/null) || installed=
  case "$installed" in 'installed '*) installed=${installed#installed } ;; *) installed= ;; esac
  if [ -z "$file" ]; then
    [ -n "$installed" ] || has $agent ||
      fail "the control plane has no package of $agent for $architecture: copy it to EXITWARD_PACKAGES_DIR there and invite again, or install it here (docs/install.md) and paste the same line again"
    say "$agent is installed here; the control plane has no package of it for $architecture"
    trust_authority
    return 0
  fi
  offered=${file#*_}
  offered=${offered%_*}
  if [ -n "$installed" ] && dpkg --compare-versions "$installed" ge "$offered"; then
    say "$agent $installed is already installed"
    trust_authority
    return 0
  fi
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  # apt's own user reads the package.
  chmod 0755 "$folder"
  say "fetching $file"
  curl -fsSL --retry 5 -o "$folder/$file" "$url/node/packages/$file" || fail "$url/node/packages/$file cannot be had"
  printf '%s  %s\n' "$sum" "$folder/$file" | sha256sum --check --quiet ||
    fail "$file is not the package that this script came with, and was not installed"
  apt-get update -q || say 'apt-get update failed; going on with what apt knows'
  DEBIAN_FRONTEND=noninteractive apt-get install -q --yes "$folder/$file"
  trust_authority
}

trust_authority() {
  [ -n "${CURL_CA_BUNDLE-}" ] || return 0
  install -D -m 0644 "$CURL_CA_BUNDLE" $authority
  grep -q '^NODE_EXTRA_CA_CERTS=' $settings 2> /dev/null ||
    printf 'NODE_EXTRA_CA_CERTS=%s\n' $authority >> $settings
}

wait_until_it_follows() {
  say 'waiting until the agent follows the control plane'
  seconds=0
  until $agent status 2> /dev/null | grep -q '^state[[:space:]]*following$'; do
    seconds=$((seconds + 1))
    if [ $seconds -gt 60 ]; then
      $agent doctor || true
      fail "the machine joined, and its agent does not follow the control plane; besides the above: journalctl -u $agent"
    fi
    sleep 1
  done
}

main "$@"
