// An inventory as a file, JSON or CSV, sent to the server as it is.
import { type Given, invalidField, type ResponseOf } from '../api/api.ts';
import { change } from '../api/reading.ts';

export type Outcome = ResponseOf<'admin_import_inventory'>;
type Query = Required<Given<'admin_import_inventory'>['query']>;
type Body = Given<'admin_import_inventory'>['body'];

const types: Record<string, string> = { json: 'application/json', csv: 'text/csv' };

/** Returns the changes that were made, or would be. Errors: ApiError, with all faults of the file in its message. */
export async function importInventory(file: File, query: Query): Promise<Outcome> {
  const type = types[file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()];
  if (!type) throw invalidField('file', 'expected one that ends in .json or .csv.');
  // The server reads it, and names its rows: a body of records would have lost them.
  const body = file.slice(0, file.size, type) as unknown as Body;
  return change('admin_import_inventory', { query, body });
}
