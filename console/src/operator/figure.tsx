// A number that leads to what it counts; zero leads nowhere.
import { Link } from 'wouter-preact';

export function Figure({ of, path }: { of: number; path: string }) {
  return of === 0 ? '0' : <Link href={path}>{of.toLocaleString('en')}</Link>;
}
