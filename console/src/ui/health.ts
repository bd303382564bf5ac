// The health of exit IPs and VPN services in words.

/** By the API's status. */
export const health = {
  ok: 'healthy',
  warn: 'degraded',
  crit: 'down',
  unknown: 'not checked',
} as const;
