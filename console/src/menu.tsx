// The pages of a console: one list drives the menu, the palette, the routes and the pages' titles.
import type { FunctionComponent } from 'preact';
import { Link, Redirect, Route } from 'wouter-preact';
import { useAddressSearch } from './address.ts';
import { addressOf } from './paths.ts';
import { type IconName, PageName } from './ui/ui.ts';

/** A page that can be opened. */
export interface Place {
  path: string;
  name: string;
  icon: IconName;
  /** The task that it belongs to: the heading of its group in the menu. */
  section?: string;
  /** Further words that find it. */
  words?: string;
}

export interface MenuPage extends Place {
  Page: FunctionComponent;
  /** Whether it also handles the addresses below its own. */
  hasBelow?: boolean;
}

export const inSection = <P extends Place>(section: string, places: P[]): P[] =>
  places.map((place) => ({ ...place, section }));

/** The places in groups, in their order. */
export function sectionsOf(places: readonly Place[]): Array<[name: string, places: Place[]]> {
  return [...Map.groupBy(places, ({ section = '' }) => section)];
}

/** The routes of the pages, as children of a `Switch`. */
export const routesOf = (pages: readonly MenuPage[]) =>
  pages.map(({ path, hasBelow, name, Page }) => (
    <Route key={path} path={hasBelow ? `${path}/*?` : path}>
      <PageName.Provider value={name}>
        <Page />
      </PageName.Provider>
    </Route>
  ));

/** Routes from former addresses of pages to those of today, with the state of the view. */
export const redirectsOf = (moved: Readonly<Record<string, string>>) =>
  Object.entries(moved).map(([from, to]) => (
    <Route key={from} path={from}>
      <Moved to={to} />
    </Route>
  ));

function Moved({ to }: { to: string }) {
  return <Redirect to={addressOf(to, useAddressSearch())} replace />;
}

/** The parts of a page, each at its own address. `label` names all of them. */
export function Tabs(props: {
  label: string;
  tabs: ReadonlyArray<{ path: string; name: string }>;
  current: string;
}) {
  return (
    <nav class="parts" aria-label={props.label}>
      <ul>
        {props.tabs.map(({ path, name }) => (
          <li key={path}>
            <Link href={path} aria-current={path === props.current ? 'page' : undefined}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
