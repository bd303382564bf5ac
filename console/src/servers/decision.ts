// The decision of a node on a connection in words: outcome, reason, and what would change it; pure.
import type { AccountResponse } from '../api/reading.ts';
import { paths } from '../paths.ts';

export type Decision = AccountResponse<'explain_connection'>;

export interface ReadDecision {
  tone: 'good' | 'warn' | 'bad';
  title: string;
  /** Each ends with a full stop. */
  sentences: string[];
  /** The page where it can be fixed. */
  remedy?: { path: string; text: string };
}

const titles = {
  allow: ['good', 'Allowed'],
  challenge: ['warn', 'Asked to sign in'],
  deny: ['bad', 'Denied'],
} as const satisfies Record<Decision['verdict'], readonly [string, string]>;

const toUsers = { path: paths.users, text: 'Users and tokens' };
/** The next page, by reason. */
const remedies: Record<string, ReadDecision['remedy']> = {
  unknown_address: { path: paths.authlist, text: 'IP authlist' },
  bad_token: toUsers,
  expired_token: toUsers,
  old_token_version: toUsers,
  inactive_user: toUsers,
  no_proxy_flag: toUsers,
  user_expired: toUsers,
  not_for_user: toUsers,
  user_limit_reached: toUsers,
  too_many_addresses: toUsers,
  server_not_on_contract: { path: paths.servers, text: 'Servers' },
  over_limit: { path: paths.usage, text: 'Usage' },
};

const grounds: Record<string, string> = {
  authlist: 'its address is on the IP authlist',
  token: 'the user name and token are valid',
};

export function readDecision(decision: Decision): ReadDecision {
  const { verdict, reason, message, user, exit_ip, dial, checked } = decision;
  const [tone, title] = titles[verdict];
  const remedy =
    remedies[reason] === toUsers && user !== undefined
      ? { path: paths.user(user), text: 'Open the user' }
      : remedies[reason];
  if (verdict !== 'allow') {
    const whose = user === undefined ? [] : [`The connection counts as ${user}.`];
    const where = dial === undefined ? [] : [`A custom DNS entry sends it to ${dial}.`];
    const fix = dial === undefined ? remedy : { path: paths.dns, text: 'Custom DNS' };
    const sentences = [sentence(message), ...whose, ...where];
    return { tone, title, sentences, ...(fix && { remedy: fix }) };
  }
  const ground = grounds[reason];
  return {
    tone: checked && !cameThrough(decision) ? 'warn' : tone,
    title,
    sentences: [
      `The connection counts as ${user}${ground ? `: ${ground}` : ''}.`,
      `Websites see ${exit_ip}.`,
      ...(dial === undefined ? [] : [`A custom DNS entry sends it to ${dial}.`]),
      ...(checked ? [ofCheck(decision)] : ['This node is too old to send a test request.']),
    ],
  };
}

const cameThrough = ({ checked, exit_ip }: Decision) =>
  checked?.fault === undefined && checked?.address === exit_ip;

function ofCheck({ checked, exit_ip }: Decision): string {
  const { fault, address, milliseconds } = checked ?? {};
  if (fault !== undefined) return `A test request through the exit failed: ${fault}.`;
  const took = `A test request through the exit took ${milliseconds} ms`;
  return address === exit_ip
    ? `${took} and arrived from there.`
    : `${took}, but arrived from ${address}.`;
}

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/**
 * The request of a client that opens a page through a proxy: a tunnel for https, else the page
 * itself. Undefined: the text is not a web address.
 */
export function requestFor(
  page: string,
): { host: string; method: string; destination_port: number } | undefined {
  if (!URL.canParse(page)) return undefined;
  const { protocol, hostname, port } = new URL(page);
  if (protocol !== 'https:' && protocol !== 'http:') return undefined;
  const isTunnel = protocol === 'https:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const defaultPort = isTunnel ? 443 : 80;
  return {
    host,
    method: isTunnel ? 'CONNECT' : 'GET',
    destination_port: Number(port) || defaultPort,
  };
}
