// The parts of an account in the operator's console, in the order of the menu.
import type { IconName } from '../ui/ui.ts';

export const accountParts = [
  { part: '', name: 'Contract', icon: 'accounts' },
  { part: 'servers', name: 'Servers', icon: 'servers' },
  { part: 'users', name: 'Users', icon: 'users' },
  { part: 'tokens', name: 'API tokens', icon: 'tokens' },
  { part: 'authlist', name: 'IP authlist', icon: 'authlist' },
  { part: 'dns', name: 'Custom DNS', icon: 'dns' },
  { part: 'connections', name: 'Connected now', icon: 'connections' },
  { part: 'refusals', name: 'Refused lately', icon: 'close' },
  { part: 'usage', name: 'Usage', icon: 'usage' },
  { part: 'audit', name: 'Audit log', icon: 'activity' },
] as const satisfies ReadonlyArray<{ part: string; name: string; icon: IconName }>;
