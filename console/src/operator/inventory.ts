// An inventory as a file, JSON or CSV, sent to the server as it is.
import { type Answer, ApiError, credentials } from '../api.ts';
import { queries } from '../reading.ts';

export type Outcome = Answer<'admin_import_inventory'>;

interface Options {
  dry_run: boolean;
  remove_missing: boolean;
}

const types: Record<string, string> = { json: 'application/json', csv: 'text/csv' };

/** What was done, or would be. Errors: ApiError, with all faults of the file in its message. */
export async function importInventory(file: File, options: Options): Promise<Outcome> {
  const type = types[file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()];
  if (!type) throw new ApiError('file: expected one that ends in .json or .csv.', 400);
  const query = new URLSearchParams(
    Object.entries(options).map(([name, value]) => [name, String(value)]),
  );
  let response: Response;
  try {
    response = await fetch(`/admin/inventory?${query}`, {
      method: 'POST',
      headers: { ...credentials('/admin'), 'content-type': type },
      body: file,
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(120_000),
    });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    throw new ApiError(isLate ? 'timeout' : 'unreachable', 0);
  } finally {
    if (!options.dry_run) void queries.invalidateQueries();
  }
  const answer = await response.json().catch(() => ({ message: response.statusText }));
  if (response.ok) return answer as Outcome;
  throw new ApiError(answer.message, response.status, response.headers);
}
