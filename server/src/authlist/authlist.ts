// The IP authlist: connections from a listed address don't need a password. Their traffic is
// counted for the entry's user.
//
// An entry is { id, ip, user, expiry }. It holds while now < expiry, and claims its address on the
// account's port scheme (claims.ts): one entry at most in the whole network, of any account. A
// claim is unverified until its account calls from its address (proofs.ts). Another account's
// verified claim replaces it.
//
// Verbs: list, require, find claims; create, change, remove; the same of many at once: add pasted,
// change expiries, remove; remove all, restore (undoes a removal); verify. A sweep removes expired
// entries.
export { entriesOn, findClaims } from './claims_store.ts';
export {
  type ChangedEntry,
  changeEntry,
  createEntry,
  entrySlices,
  listEntries,
  noSuchEntry,
  removeEntry,
  requireEntry,
  sweepEntries,
  userIsActive,
} from './entries.ts';
export { type Asking, changeExpiries, removeEntries } from './many.ts';
export { entryPageSlices, entrySorts, entryStates } from './page_store.ts';
export {
  forgetPast,
  listersOf,
  pastAddressesOf,
  purgePast,
} from './past_store.ts';
export { addPasted, examinePasted, pastedLines } from './pasted.ts';
export { canVerify, proofState, sweepProofs, verifyEntries } from './proofs.ts';
export {
  forgetEntriesOf,
  purgeRemovedEntries,
  removeAllEntries,
  restoreEntries,
} from './removal.ts';
export type { AuthlistRules } from './rules.ts';
export {
  type AuthlistEntry,
  type AuthlistRow,
  authlistOfAccount,
  type EntrySlice,
  findAuthlistRows,
} from './store.ts';
export { lastUses, markEntriesUsed, usesOfEntries } from './uses.ts';
