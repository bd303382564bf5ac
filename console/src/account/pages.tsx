// Every page of an account, in the order of the menu, with the permissions that open it.
import { inSection, type MenuPage } from '../menu.tsx';
import { paths } from '../paths.ts';
import { lazy } from '../ui/ui.ts';
import { OverviewPage } from './overview/page.tsx';

interface PageOfAccount extends MenuPage {
  /**
   * Any of these opens it; none: it is open to every user. The server checks each request again.
   */
  may: Array<'admin' | 'billing' | 'proxy'>;
}

export const pages: PageOfAccount[] = [
  {
    path: paths.overview,
    name: 'Overview',
    icon: 'overview',
    may: [],
    Page: OverviewPage,
  },
  ...inSection<PageOfAccount>('Proxies', [
    {
      path: paths.servers,
      hasBelow: true,
      name: 'Servers',
      icon: 'servers',
      may: ['admin', 'proxy'],
      Page: lazy(() => import('../servers/page.tsx').then((page) => page.ServersPage)),
    },
    {
      path: paths.authlist,
      name: 'IP authlist',
      icon: 'authlist',
      may: ['admin', 'proxy'],
      Page: lazy(() => import('../authlist/page.tsx').then((page) => page.AuthlistPage)),
    },
    {
      path: paths.dns,
      name: 'Custom DNS',
      icon: 'dns',
      may: ['admin'],
      Page: lazy(() => import('../dns/page.tsx').then((page) => page.DnsPage)),
    },
    {
      path: paths.connections,
      name: 'Connected now',
      icon: 'connections',
      may: ['admin', 'proxy'],
      words: 'open connections online who sessions live',
      Page: lazy(() => import('../connections/page.tsx').then((page) => page.ConnectedPage)),
    },
    {
      path: paths.test,
      name: 'Connection test',
      icon: 'test',
      may: ['admin', 'proxy'],
      words: 'try explain refused why',
      Page: lazy(() => import('../servers/test_page.tsx').then((page) => page.TestPage)),
    },
    {
      path: paths.refusals,
      name: 'Refused lately',
      icon: 'close',
      may: ['admin', 'proxy'],
      words: 'denied rejected connections why 407 403',
      Page: lazy(() => import('../refusals/page.tsx').then((page) => page.RefusalsPage)),
    },
  ]),
  ...inSection<PageOfAccount>('Account', [
    {
      path: paths.usage,
      name: 'Usage',
      icon: 'usage',
      may: ['admin', 'billing'],
      Page: lazy(() => import('../usage/page.tsx').then((page) => page.UsagePage)),
    },
    {
      path: paths.users,
      hasBelow: true,
      name: 'Users and tokens',
      icon: 'users',
      may: ['admin', 'proxy'],
      Page: lazy(() => import('../users/page.tsx').then((page) => page.UsersPage)),
    },
    {
      path: paths.tokens,
      name: 'API tokens',
      icon: 'tokens',
      may: ['admin'],
      Page: lazy(() => import('../tokens/page.tsx').then((page) => page.TokensPage)),
    },
    {
      path: paths.activity,
      name: 'Activity',
      icon: 'activity',
      may: ['admin'],
      Page: lazy(() => import('../activity/page.tsx').then((page) => page.ActivityPage)),
    },
    {
      path: paths.signIn,
      name: 'Your sign-in',
      icon: 'lock',
      may: [],
      Page: lazy(() => import('./sign_in/own.tsx').then((page) => page.OwnSignInPage)),
    },
  ]),
];
