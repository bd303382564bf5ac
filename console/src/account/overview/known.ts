// The facts that the overview of an account evaluates, from the server's responses.
import type { Notices } from '../../attention/notices.ts';
import type { DnsState } from '../../dns/entries.ts';
import type { Forecast } from '../../usage/forecast.ts';

interface Contract {
  suspended: boolean;
  expiry: number;
  over_limit: boolean;
  on_limit: string;
  detailed_billing: boolean;
  period: { usage: number; limit: number; end: number };
}

interface Server {
  server: string;
  nodes: { all: number; live: number };
  ips: ReadonlyArray<{
    ip: string;
    status: string;
    geostatus: Record<string, { status: string }>;
  }>;
}

export interface AuthlistEntry {
  ip: string;
  user: string;
  expiry: number;
}

interface Token {
  name: string;
  expiry: number | null;
}

/** The rows of a list that match a filter: how many, and the first ones. */
interface Found<T> {
  found: number;
  rows: readonly T[];
}

/** The filters of the servers that may need attention. */
export type Need =
  | ('not_connected' | 'no_node' | 'crit' | 'warn' | 'unknown')
  | ('misplaced' | 'over_limit');

/**
 * The facts that were read. Parts that the user's permissions do not open, or that are still being
 * read, are left out.
 */
export interface Known {
  now: number;
  session?: { has_password: boolean; second_factor: boolean };
  contract?: Contract;
  /** Whether the page of usage, and with it the limit, is open to the user. */
  seesUsage?: boolean;
  forecast?: Forecast | undefined;
  /** Servers of the contract, by their problem. */
  servers?: Partial<Record<Need, Found<Server>>>;
  /** Entries of users who cannot use proxies, and others in use that end within a day. */
  idle?: Found<AuthlistEntry>;
  ending?: Found<AuthlistEntry>;
  /** The oldest custom DNS entries that are still pending. */
  pending?: Found<DnsState>;
  /** The time at which this page first saw an entry pending, by its id. */
  pendingSince?: ReadonlyMap<number, number>;
  /** API tokens that have expired, and others that end within a week, earliest first. */
  tokensOver?: Found<Token>;
  tokensEnding?: Found<Token>;
  notices?: Notices;
  /** Active users with an invitation who never signed in. */
  invited?: Found<{ name: string }>;
}
