// How this agent was installed.
import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';
import { installationOf } from '../../kit/src/installation.ts';

const folder = dirname(findPackageJSON(import.meta.url) as string);

export const installation = installationOf(folder, {
  name: 'exitward-agent',
  settings: '/etc/exitward/agent.env',
  command: 'exitward-agent run',
});
