// The start of a network: its default port scheme, and the check that this database and these keys
// belong together.

import { recordChange } from './changes/changes.ts';
import type { Context } from './context.ts';
import type { Actor, Reader } from './db/database.ts';
import { useHashKeys } from './keys/hash_keys.ts';
import { ensureSigningKeys, listSigningKeys } from './keys/signing_keys.ts';
import { createPortScheme, defaultBases, listPortSchemes } from './port_schemes/port_schemes.ts';

const system: Actor = { kind: 'system', name: 'start', address: '', request_id: '' };

/** Whether this database was used with keys; then other or new keys are useless. */
export async function livesWithKeys(db: Reader): Promise<boolean> {
  return (await keyIdOf(db)) !== null;
}

/** Identifies the keys that this database belongs to; null before its first start. */
export async function keyIdOf(db: Reader): Promise<string | null> {
  const network = await db.one<{ key_id: string | null }>('select key_id from network');
  return network?.key_id ?? null;
}

/**
 * Gives a new database its default port scheme and stores which keys it belongs to.
 * Errors: one sentence when the database belongs to other keys: its sealed tokens could not be
 * read, and no API token would be recognised.
 */
export async function ensureNetwork(ctx: Context): Promise<void> {
  const { key_id } = ctx.secrets;
  const network = await ctx.db.one<{ key_id: string | null }>('select key_id from network');
  if (network?.key_id && network.key_id !== key_id) {
    throw new Error(
      `The keys file ${ctx.config.keys_file} is not the one that this database was used with; move it away and restore the right one by "exitward keys restore", or set EXITWARD_KEYS_FILE.`,
    );
  }
  await ctx.db.write(system, (tx) => ensureSigningKeys(tx, ctx.secrets, network?.key_id != null));
  await requireActiveKey(ctx);
  await useHashKeys(ctx.db, ctx.secrets, ctx.config.keys_file);
  if (network?.key_id) return;
  await ctx.db.write(system, async (tx) => {
    const row = await tx.one<{ key_id: string | null }>('select key_id from network');
    if (row?.key_id) return;
    await tx.run('update network set key_id = $1', [key_id]);
    if ((await listPortSchemes(tx)).length === 0) {
      await createPortScheme(tx, { name: 'default', bases: defaultBases });
    }
    await recordChange(tx, { kind: 'keys', account_id: null });
  });
}

/** Errors: one sentence when the keys file is older than the last rotation. */
async function requireActiveKey({ db, secrets, config }: Context): Promise<void> {
  const active = (await listSigningKeys(db)).find(
    ({ activated_at, superseded_at }) => activated_at !== null && superseded_at === null,
  );
  if (!active || secrets.publicKeys().some(({ kid }) => kid === active.kid)) return;
  throw new Error(
    `The keys file ${config.keys_file} lacks the signing key ${active.kid}, which this database signs with: it may be older than the last rotation. Put one there that has it.`,
  );
}
