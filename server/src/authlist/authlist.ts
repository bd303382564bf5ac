// The IP authlist: a connection from a listed address needs no password and counts as its user.
//
// An entry is { id, ip, user, expiry }. It holds while now < expiry, and claims its address on the
// account's port scheme: one entry at most in the whole network, of any account. A claim is
// unproven until its address has asked for it itself (proofs.ts), and gives way to another
// account's proven claim. Verbs: list, require, create, change, remove, remove all, restore (undoes
// a "remove all"), find claims; sweep removes expired entries.
export { entriesOn, findClaims } from './claims_store.ts';
export {
  type AuthlistRules,
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
export { canProve, proofState, proveEntries, sweepProofs } from './proofs.ts';
export {
  forgetEntriesOf,
  purgeRemovedEntries,
  removeAllEntries,
  restoreEntries,
} from './removal.ts';
export {
  type AuthlistEntry,
  type AuthlistRow,
  authlistOfAccount,
  type EntrySlice,
  findAuthlistRows,
} from './store.ts';
export { lastUses, markEntriesUsed, usesOfEntries } from './uses.ts';
