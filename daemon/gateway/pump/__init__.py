"""The gateway's pump: the execution core before dispatch, for engines without the plug-in."""
