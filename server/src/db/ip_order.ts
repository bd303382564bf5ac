// The order of IP addresses for SQLite, which has none: IPv4 by number, then IPv6. PostgreSQL has a
// function of the same name.

/**
 * The sort value of a canonical address: a number for IPv4; for IPv6 its groups of four digits,
 * which sort after numbers.
 */
export function ipOrder(ip: unknown): number | string {
  const text = String(ip);
  let number = 0;
  let octet = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === colon) return groupsOf(text);
    if (code === dot) {
      number = number * 256 + octet;
      octet = 0;
    } else octet = octet * 10 + code - zero;
  }
  return number * 256 + octet;
}

const [dot, colon, zero] = [0x2e, 0x3a, 0x30];

function groupsOf(text: string): string {
  const [front = [], back = []] = text
    .split('::')
    .map((side) => (side === '' ? [] : side.split(':')));
  const missing = Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  const groups = [...front, ...(text.includes('::') ? missing : []), ...back];
  return groups.map((group) => group.padStart(4, '0')).join('');
}
