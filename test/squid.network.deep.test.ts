// The whole system with Squid, each part a process of its own: killed, cut off, revoked, counted.
import { afterAll, beforeAll, describe } from 'vitest';
import { drainingTests } from './system/draining.ts';
import { killingTests } from './system/killing.ts';
import { limitTests } from './system/limits.ts';
import { revocationTests } from './system/revocation.ts';
import { servingTests } from './system/serving.ts';
import { sistersTests } from './system/sisters.ts';
import { switchingTests } from './system/switching.ts';
import { World } from './system/world.ts';

describe('a network of Squids', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start('squid');
  });
  afterAll(() => world?.stop());

  sistersTests(() => world, ['squid', 'embedded']);
  servingTests(() => world);
  revocationTests(() => world);
  limitTests(() => world);
  switchingTests(() => world);
  drainingTests(() => world, 'squid');
  killingTests(() => world, 'squid');
});
