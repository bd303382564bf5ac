// A user of the account, as the API has one, and the limits that a user without any has.
import type { AccountResponse } from '../api/reading.ts';

export type User = AccountResponse<'list_users'>[number];
export type Limits = User['limits'];

export const noLimits: Limits = {
  ...{ limit_bytes: null, on_limit: 'refuse', max_connections: null, max_addresses: null },
  ...{ address_seconds: 300, active_until: null, services: null, servers: null },
};
