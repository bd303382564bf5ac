// The settings of a node that decide on a refusal, by its reason: operators read them with an
// explanation, since they can change them.

const settings: Record<string, string> = {
  destination_refused:
    'EXITWARD_AGENT_ALLOW_DESTINATIONS opens addresses, EXITWARD_AGENT_CONNECT_PORTS and EXITWARD_AGENT_HTTP_PORTS open ports',
  too_many_connections:
    'EXITWARD_AGENT_MAX_CONNECTIONS, and the same with _PER_ACCOUNT, _PER_USER or _PER_ADDRESS, set the limits of the node',
  stale: 'EXITWARD_AGENT_STALENESS_SECONDS sets the time',
  no_name_server: 'EXITWARD_AGENT_DNS_SERVERS selects others',
};

/** The settings of a node that decide on this reason, in words; undefined: none. */
export const settingsOf = (reason: string): string | undefined => settings[reason];

/** An explanation as operators read it. */
export function forOperators<Explained extends { reason: string; message: string }>(
  explained: Explained,
): Explained {
  const advice = settingsOf(explained.reason);
  if (advice === undefined) return explained;
  return { ...explained, message: `${explained.message}; on the node, ${advice}` };
}
