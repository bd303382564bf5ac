// The rules under which a request changes the list: the operator's settings, the rights of the
// client, and caps on what it tries.
import type { HourlyCap } from '../bounds/hourly.ts';
import type { ProofSetting } from './proofs.ts';

/** The operator's settings. */
interface Settings {
  addresses: 'any' | 'public';
  max_authlist_entries: number;
  /** Whether an entry must be verified; `prefer` when omitted. */
  authlist_proof?: ProofSetting;
}

/** The rights that operators have, and people don't. */
interface Rights {
  /** Suspended and expired contracts can be changed too. */
  any_contract?: boolean;
  /** New entries are verified, from wherever the request comes. */
  vouches?: boolean;
}

/** Counted per account and hour, in all requests together; operators have no caps. */
interface Caps {
  /** Claims on addresses that are taken. */
  conflicts?: HourlyCap;
  /** Entries that an undo brings back. */
  restored?: HourlyCap;
}

export interface AuthlistRules extends Settings, Rights, Caps {}
