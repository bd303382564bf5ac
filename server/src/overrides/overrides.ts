// Custom DNS entries: on the override port, a server resolves a hostname to an address that the
// account sets.
//
// An override is { id, server, hostname, ip, expiry }; its status (pending, active, expiring,
// expired) follows from the expiry and from what the server's nodes have applied. At most one
// wanted entry has a hostname on a server.
//
// Verbs: list, find, require, find pointing (to an address); create, change, remove; of many at
// once: change expiries, remove; remove all, restore (undoes a removal). A sweep notifies the nodes
// of expired entries; a purge forgets them 30 days later.
export {
  changeOverride,
  createOverride,
  findOverride,
  lastChangeOf,
  listOverrides,
  nextChangeAt,
  type OverrideRules,
  type OverrideStatus,
  overridePageSlices,
  overrideSlices,
  purgeOverrides,
  removeOverride,
  requireOverride,
  statusOf,
  sweepOverrides,
} from './entries.ts';
export { changeOverrideExpiries, removeOverrides } from './many.ts';
export { overrideSorts, overrideStates } from './page_store.ts';
export { findPointing } from './pointing_store.ts';
export {
  forgetAdder,
  purgeRemovedOverrides,
  removeAllOverrides,
  restoreOverrides,
} from './removal.ts';
export {
  findOverrideRows,
  nodesOfOverride,
  nodesOfServers,
  type Override,
  type OverrideRow,
  type OverrideSlice,
  overridesOfAccount,
  type ServerNode,
} from './store.ts';
