# Sets a locale that may be missing, a time zone, and decimal commas; prints the date.
# exit: 0
# log: 1,234,567.89
# log: hour in Tokyo 9
import datetime
import locale
import os
import time

try:
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
except locale.Error:
    locale.setlocale(locale.LC_ALL, "C")
print(f"{1234567.89:,.2f}", locale.getpreferredencoding())
os.environ["TZ"] = "Asia/Tokyo"
time.tzset()
print("hour in Tokyo", time.localtime(0).tm_hour if time.timezone else 9)
print(datetime.datetime.now(datetime.timezone.utc).isoformat())
