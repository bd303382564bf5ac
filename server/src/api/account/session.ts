// The principal of a /v0 request, once it is known.
import type { Versions } from '../../changes/versions.ts';

export type Variant = 'current' | 'earlier';

/** The account, token and variant of a request, as of its versions. */
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

/** A principal, stored while its contract and API tokens stay the same. */
export interface Session {
  principal: Principal;
  versions: Versions;
  /** The one spelling of its Authorization header that it is stored by. */
  authorization: string;
}
