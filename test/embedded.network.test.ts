// The whole system with the embedded engine on PostgreSQL, each part a process of its own: killed,
// cut off, revoked, counted. With Squid it is on SQLite.
import { afterAll, beforeAll, describe } from 'vitest';
import { eachDatabase } from '../server/test/databases.ts';
import { killingTests } from './system/killing.ts';
import { limitTests } from './system/limits.ts';
import { revocationTests } from './system/revocation.ts';
import { servingTests } from './system/serving.ts';
import { World } from './system/world.ts';

eachDatabase(
  (database) => {
    describe('a network of embedded proxies', () => {
      let world: World;

      beforeAll(async () => {
        world = await World.start('embedded', { EXITWARD_DATABASE_URL: await database.emptyUrl() });
      });
      afterAll(() => world?.stop());

      servingTests(() => world);
      revocationTests(() => world);
      limitTests(() => world);
      killingTests(() => world, 'embedded');
    });
  },
  ['PostgreSQL'],
);
