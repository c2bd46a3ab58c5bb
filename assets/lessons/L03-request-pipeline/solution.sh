first
stranger
jane
typo
misnamed
late
storm 1 600
