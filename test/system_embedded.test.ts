// The whole system with the embedded engine, each part a process of its own: killed, cut off, revoked, counted.
import { afterAll, beforeAll, describe } from 'vitest';
import { killingTests } from './system/killing.ts';
import { limitTests } from './system/limits.ts';
import { revocationTests } from './system/revocation.ts';
import { servingTests } from './system/serving.ts';
import { sistersTests } from './system/sisters.ts';
import { World } from './system/world.ts';

describe('a network of embedded proxies', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start('embedded');
  });
  afterAll(() => world?.stop());

  sistersTests(() => world, ['embedded', 'embedded']);
  servingTests(() => world);
  revocationTests(() => world);
  limitTests(() => world);
  killingTests(() => world, 'embedded');
});
