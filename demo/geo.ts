// The demo's geo-IP providers: some that are wrong about an exit IP come to agree, and are wrong
// again later.
import { bumpVersion, networkVersion } from '../server/src/changes/changes.ts';
import type { Context } from '../server/src/context.ts';
import { listGeoStatuses, setGeoStatuses } from '../server/src/geo/geo.ts';
import { listServers } from '../server/src/servers/servers.ts';
import { demo } from './seed.ts';

const pauseMs = 60_000;
const moving = 6;

/** The next of a few statuses moves at each call. */
export async function movingGeoStatuses(ctx: Context): Promise<() => Promise<void>> {
  const from = { ip: '0.0.0.0', provider: '' };
  const only = { server: undefined, status: 'crit' };
  const wrong = await listGeoStatuses(ctx.db, only, from, moving);
  const countries = new Map(
    (await listServers(ctx.db)).map(({ name, country }) => [name, country]),
  );
  let step = 0;
  return async () => {
    const given = wrong[step % moving];
    const agrees = Math.floor(step++ / moving) % 2 === 0;
    if (!given) return;
    const { server, ...row } = given;
    const right = { status: 'ok', country: countries.get(server) ?? null, distance_km: 20 };
    await ctx.db.write(demo, async (tx) => {
      await setGeoStatuses(tx, [{ ...row, ...(agrees && right), status_time: tx.now }]);
      await bumpVersion(tx, networkVersion);
    });
  };
}

/** Moves one a minute; the function that is answered ends it. */
export async function startGeo(ctx: Context): Promise<() => void> {
  const move = await movingGeoStatuses(ctx);
  // One that fails is left to the next time.
  const timer = setInterval(() => void move().catch(() => {}), pauseMs);
  return () => clearInterval(timer);
}
