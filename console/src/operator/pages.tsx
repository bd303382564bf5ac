// Every page of the operators' console, in the order of the menu.
import { inSection, type MenuPage } from '../menu.tsx';
import { paths } from '../paths.ts';
import { lazy } from '../ui/ui.ts';
import { OverviewPage } from './overview.tsx';

const { operator } = paths;

/** The pages that the menu offers with these rights; all of them have a route. */
export const placesFor = (may_find_connections: boolean) =>
  pages.filter(({ path }) => may_find_connections || path !== operator.exit_uses);

export const pages: MenuPage[] = [
  { path: operator.overview, name: 'Overview', icon: 'overview', Page: OverviewPage },
  ...inSection<MenuPage>('Network', [
    {
      path: operator.servers,
      name: 'Servers',
      icon: 'servers',
      Page: lazy(() => import('./servers.tsx').then((page) => page.ServersPage)),
    },
    {
      path: operator.nodes,
      name: 'Nodes',
      icon: 'nodes',
      Page: lazy(() => import('./nodes.tsx').then((page) => page.NodesPage)),
    },
    {
      path: operator.geofeed,
      name: 'Geo-IP',
      icon: 'place',
      words: 'geofeed location country',
      Page: lazy(() => import('./geofeed.tsx').then((page) => page.GeofeedPage)),
    },
  ]),
  ...inSection<MenuPage>('Customers', [
    {
      path: operator.accounts,
      name: 'Accounts',
      icon: 'accounts',
      words: 'contracts',
      Page: lazy(() => import('./accounts.tsx').then((page) => page.AccountsPage)),
    },
    {
      path: operator.usage,
      name: 'Usage',
      icon: 'usage',
      words: 'traffic billing',
      Page: lazy(() => import('./usage.tsx').then((page) => page.UsagePage)),
    },
  ]),
  ...inSection<MenuPage>('Look up', [
    {
      path: operator.connections,
      name: 'Connected now',
      icon: 'connections',
      words: 'open connections online who sessions live',
      Page: lazy(() => import('./connected.tsx').then((page) => page.NetworkConnectedPage)),
    },
    {
      path: operator.addresses,
      name: 'Addresses',
      icon: 'authlist',
      words: 'who lists an ip authlist',
      Page: lazy(() => import('./addresses.tsx').then((page) => page.AddressesPage)),
    },
    {
      path: operator.test,
      name: 'Connection test',
      icon: 'test',
      words: 'explain refused why',
      Page: lazy(() => import('./test.tsx').then((page) => page.TestPage)),
    },
    {
      path: operator.refusals,
      name: 'Refused lately',
      icon: 'close',
      words: 'denied rejected connections why 407 403',
      Page: lazy(() => import('./refusals.tsx').then((page) => page.RefusalsPage)),
    },
    {
      path: operator.exit_uses,
      name: 'Who used an exit',
      icon: 'search',
      words: 'abuse report connection log find user of exit ip',
      Page: lazy(() => import('./exit_uses.tsx').then((page) => page.ExitUsesPage)),
    },
    {
      path: operator.audit,
      name: 'Audit log',
      icon: 'activity',
      words: 'history changes sign-ins',
      Page: lazy(() => import('./audit.tsx').then((page) => page.AuditPage)),
    },
  ]),
  ...inSection<MenuPage>('Settings', [
    {
      path: operator.port_schemes,
      name: 'Port schemes',
      icon: 'link',
      Page: lazy(() => import('./port_schemes.tsx').then((page) => page.PortSchemesPage)),
    },
    {
      path: operator.tokens,
      name: 'Operator tokens',
      icon: 'tokens',
      Page: lazy(() => import('./tokens.tsx').then((page) => page.TokensPage)),
    },
    {
      path: operator.control_plane,
      name: 'Control plane',
      icon: 'control',
      words: 'maintenance version database geo-ip databases',
      Page: lazy(() => import('./control_plane.tsx').then((page) => page.ControlPlanePage)),
    },
  ]),
];
