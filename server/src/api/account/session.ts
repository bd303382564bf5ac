// Whom a request under /v0 comes from, once that is known.
import type { Versions } from '../../changes/versions.ts';

export type Variant = 'current' | 'earlier';

/** The account, token and variant behind a request, as of its versions. */
export interface Principal {
  account_id: number;
  account_name: string;
  variant: Variant;
  token_id: number;
  token_name: string;
  read_only: boolean;
  token_expiry: number | null;
  contract_expiry: number;
  suspended: boolean;
}

/** A principal, remembered while its contract and API tokens stay as they are. */
export interface Session {
  principal: Principal;
  versions: Versions;
  /** The one spelling of its Authorization header that it is remembered under. */
  authorization: string;
}
