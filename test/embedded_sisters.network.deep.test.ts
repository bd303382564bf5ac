// With the embedded engine on both databases: two nodes of one server, and a drained one; tests of
// the server prove the rules.
import { afterAll, beforeAll, describe } from 'vitest';
import { eachDatabase } from '../server/test/databases.ts';
import { drainingTests } from './system/draining.ts';
import { sistersTests } from './system/sisters.ts';
import { World } from './system/world.ts';

eachDatabase((database) => {
  describe('nodes with embedded proxies', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start('embedded', { EXITWARD_DATABASE_URL: await database.emptyUrl() });
    });
    afterAll(() => world?.stop());

    sistersTests(() => world, ['embedded', 'embedded']);
    drainingTests(() => world, 'embedded');
  });
});
