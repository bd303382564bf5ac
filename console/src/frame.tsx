// The frame around every page: the menu, the user's name, and the theme.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { isLive } from './api/live.ts';
import { offlineSince } from './api/outage.ts';
import { type Place, sectionsOf } from './menu.tsx';
import { Outage } from './outage.tsx';
import { type LoadPalette, useFinder } from './palette/finder.tsx';
import { isMac, paletteKeys } from './palette/keys.ts';
import { nextTheme, theme } from './theme.ts';
import { Brand, Button, ErrorBoundary, Icon, IconButton, Reached, Toasts } from './ui/ui.ts';

interface FrameProps {
  places: Place[];
  /** The name of the user who is signed in. */
  who: ComponentChildren;
  onLeave: () => void;
  loadPalette: LoadPalette;
  /** Makes it look different from the console of an account. */
  isOfOperator?: boolean;
  children: ComponentChildren;
}

export function Frame(props: FrameProps) {
  const { places, who, onLeave, loadPalette, isOfOperator = false, children } = props;
  const [location] = useLocation();
  const [isOpen, setIsOpen] = useState(false);
  const side = useRef<HTMLElement>(null);
  const opener = useRef<HTMLElement>(null);
  const { find, dialog } = useFinder(loadPalette, { places, onLeave });

  useEffect(() => setIsOpen(false), [location]);
  useEffect(() => {
    if (!isOpen) return;
    side.current?.querySelector<HTMLElement>('a')?.focus();
    const close = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      setIsOpen(false);
      opener.current?.querySelector<HTMLElement>('[aria-controls="side"]')?.focus();
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [isOpen]);

  const brand = (
    <span class="brand-row">
      <Brand />
      {isOfOperator && <span class="badge audience">Operator</span>}
    </span>
  );
  return (
    <div
      class={[
        'frame',
        ...(offlineSince.value === undefined ? [] : ['away']),
        ...(isOfOperator ? ['operator'] : []),
      ].join(' ')}
    >
      <button
        type="button"
        class="button skip visually-hidden"
        onClick={() => document.querySelector<HTMLElement>('#main h1')?.focus()}
      >
        Skip to content
      </button>
      <header class="top" ref={opener}>
        {brand}
        <div class="actions">
          <IconButton icon="search" label="Find anything" onClick={find} />
          <IconButton
            icon="menu"
            label="Menu"
            aria-expanded={isOpen}
            aria-controls="side"
            onClick={() => setIsOpen(!isOpen)}
          />
        </div>
      </header>
      {isOpen && (
        <button
          type="button"
          class="backdrop"
          aria-label="Close the menu"
          tabIndex={-1}
          onClick={() => setIsOpen(false)}
        />
      )}
      <aside id="side" ref={side} class={isOpen ? 'side open' : 'side'}>
        {brand}
        <button
          type="button"
          class="find"
          aria-keyshortcuts={isMac ? 'Meta+K' : 'Control+K'}
          onClick={find}
        >
          <Icon name="search" />
          <span class="find-name">Find anything</span>
          <span aria-hidden="true">
            <kbd>{paletteKeys}</kbd>
          </span>
        </button>
        <nav aria-label="Pages">
          {sectionsOf(places).map(([section, ofSection]) => (
            <div key={section}>
              {section && <p aria-hidden="true">{section}</p>}
              <ul aria-label={section || undefined}>
                {ofSection.map(({ path, name, icon }) => (
                  <li key={path}>
                    <Link
                      href={path}
                      aria-current={isAt(location, path, places) ? 'page' : undefined}
                    >
                      <Icon name={icon} /> {name}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <div class="side-foot">
          <span class={isLive.value ? 'live on' : 'live'}>
            {isLive.value ? 'Live' : 'Connecting …'}
          </span>
          <span class="wrap-anywhere">{who}</span>
          <div class="actions">
            <Button kind="quiet" icon="theme" onClick={nextTheme}>
              {themeNames[theme.value]}
            </Button>
            <Button kind="quiet" icon="leave" onClick={onLeave}>
              Sign out
            </Button>
          </div>
        </div>
      </aside>
      <Outage />
      <Reached.Provider value={offlineSince.value === undefined}>
        <ErrorBoundary at={location}>{children}</ErrorBoundary>
      </Reached.Provider>
      <Toasts />
      {dialog}
    </div>
  );
}

const themeNames = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };

/** Whether the path is the current place, or the nearest one above the current page. */
function isAt(location: string, path: string, places: Place[]): boolean {
  const above = places
    .map((place) => place.path)
    .filter(
      (placePath) =>
        location === placePath || (placePath !== '/' && location.startsWith(`${placePath}/`)),
    );
  return above.sort((a, b) => b.length - a.length)[0] === path;
}
