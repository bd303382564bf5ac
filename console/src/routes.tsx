// Every page of an account, in the order of the menu, with the permissions that open it.
import type { FunctionComponent } from 'preact';
import { OverviewPage } from './pages/overview.tsx';
import { paths } from './paths.ts';
import type { IconName } from './ui/icon.tsx';
import { lazy } from './ui/lazy.tsx';

interface PageOfAccount {
  path: string;
  /** It answers for the addresses below its own, too. */
  hasBelow?: boolean;
  name: string;
  icon: IconName;
  /** Any of these opens it; none: everybody who is signed in. The server decides anew for each request. */
  may: Array<'admin' | 'billing' | 'proxy'>;
  Page: FunctionComponent;
}

export const pages: PageOfAccount[] = [
  {
    path: paths.overview,
    name: 'Overview',
    icon: 'overview',
    may: [],
    Page: OverviewPage,
  },
  {
    path: paths.servers,
    hasBelow: true,
    name: 'Servers',
    icon: 'servers',
    may: ['admin', 'proxy'],
    Page: lazy(() => import('./pages/servers.tsx').then((page) => page.ServersPage)),
  },
  {
    path: paths.usage,
    name: 'Usage',
    icon: 'usage',
    may: ['admin', 'billing'],
    Page: lazy(() => import('./pages/usage.tsx').then((page) => page.UsagePage)),
  },
  {
    path: paths.authlist,
    name: 'IP authlist',
    icon: 'authlist',
    may: ['admin', 'proxy'],
    Page: lazy(() => import('./pages/authlist.tsx').then((page) => page.AuthlistPage)),
  },
  {
    path: paths.dns,
    name: 'Custom DNS',
    icon: 'dns',
    may: ['admin'],
    Page: lazy(() => import('./pages/dns.tsx').then((page) => page.DnsPage)),
  },
  {
    path: paths.users,
    name: 'Users and tokens',
    icon: 'users',
    may: ['admin', 'proxy'],
    Page: lazy(() => import('./pages/users.tsx').then((page) => page.UsersPage)),
  },
  {
    path: paths.tokens,
    name: 'API tokens',
    icon: 'tokens',
    may: ['admin'],
    Page: lazy(() => import('./pages/tokens.tsx').then((page) => page.TokensPage)),
  },
  {
    path: paths.activity,
    name: 'Activity',
    icon: 'activity',
    may: ['admin'],
    Page: lazy(() => import('./pages/activity.tsx').then((page) => page.ActivityPage)),
  },
  {
    path: paths.signIn,
    name: 'Your sign-in',
    icon: 'lock',
    may: [],
    Page: lazy(() => import('./pages/own_sign_in.tsx').then((page) => page.OwnSignInPage)),
  },
];
