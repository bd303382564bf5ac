// The open connections as the API has them: groups of one user, address and exit IP, and sums.
import type { Given, ResponseOf } from '../api/api.ts';

export type OpenConnections = ResponseOf<'admin_open_connections'>;
export type EndedConnections = ResponseOf<'admin_end_connections'>;
export type ConnectionGroup = OpenConnections['connections'][number];
export type ConnectionSum = NonNullable<OpenConnections['sums']>[number];
/** An account's connections have no filter by account or node. */
export type ConnectionQuery = NonNullable<Given<'admin_open_connections'>['query']>;
/** All of these are common to the connections that are ended. */
export type EndTarget = Omit<ConnectionQuery, 'by' | 'limit'> &
  Partial<Pick<ConnectionGroup, 'service' | 'authlist_entry'>>;
