// How this server was installed.
import { installationOf } from '../../../kit/src/installation.ts';
import { packageFolder } from '../values/version.ts';

export const installation = installationOf(packageFolder, {
  name: 'exitward',
  settings: '/etc/exitward/exitward.env',
  command: 'exitward serve',
});
